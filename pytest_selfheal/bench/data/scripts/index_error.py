"""Show the gaps between neighbouring readings."""


def gaps(readings):
    found = []
    for position in range(len(readings)):
        found.append(readings[position + 1] - readings[position])
    return found


def main():
    print(gaps([3, 7, 12, 20]))
    print(gaps([5, 5]))


if __name__ == "__main__":
    main()
