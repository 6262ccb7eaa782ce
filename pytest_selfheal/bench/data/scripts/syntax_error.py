"""Greet by the time of the day."""


def greeting(hour):
    if hour < 12:
        return "Good morning"
    if hour < 18
        return "Good afternoon"
    return "Good evening"


def main():
    for hour in (7, 13, 22):
        print(hour, greeting(hour))


if __name__ == "__main__":
    main()
