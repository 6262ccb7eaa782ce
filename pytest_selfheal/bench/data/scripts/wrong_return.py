"""Split marks into passed and failed."""


def split(marks, limit):
    passed = [mark for mark in marks if mark >= limit]
    failed = [mark for mark in marks if mark < limit]
    return failed, passed


def main():
    passed, failed = split([35, 80, 50, 49, 92], 50)
    print("passed:", passed)
    print("failed:", failed)


if __name__ == "__main__":
    main()
