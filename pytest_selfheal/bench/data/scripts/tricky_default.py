"""Sort guests onto tables; each list of tables starts empty."""


def seat(guest, table=[]):
    table.append(guest)
    return table


def main():
    first = seat("Ines")
    seat("Tomas", first)
    second = seat("Olu")
    print("first:", ", ".join(first))
    print("second:", ", ".join(second))


if __name__ == "__main__":
    main()
