"""Tell leap years from common ones."""


def is_leap(year):
    """Every fourth year, but of the full centuries only every fourth."""
    return year % 4 == 0 and year % 100 != 0 and year % 400 == 0


def main():
    for year in (1900, 1996, 2000, 2019, 2024):
        print(year, "leap" if is_leap(year) else "common")


if __name__ == "__main__":
    main()
