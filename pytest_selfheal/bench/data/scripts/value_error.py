"""Add up durations written as hours and minutes."""


def minutes(text):
    hours, rest = text.split(":")
    return int(hours) * 60 + int(rest)


def total(sheet):
    return sum(minutes(entry) for entry in sheet.split(","))


def main():
    print(total("1:30,0:45"))
    print(total("2:15,"))


if __name__ == "__main__":
    main()
