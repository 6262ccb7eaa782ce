"""Number the seats of a theatre row by row."""


def seats(rows, per_row):
    labels = []
    for row in range(rows):
        for seat in range(1, per_row):
            labels.append(f"{chr(ord('A') + row)}{seat}")
    return labels


def main():
    labels = seats(3, 4)
    print(len(labels), "seats")
    print(" ".join(labels))


if __name__ == "__main__":
    main()
