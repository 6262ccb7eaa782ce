"""Count how often a number must be halved or tripled until it comes to one."""


def steps_to_one(number):
    steps = 0
    while number != 1:
        if number % 2 == 0:
            number //= 2
        else:
            number = 3 * number - 1
        steps += 1
    return steps


def main():
    for number in (1, 6, 7, 25):
        print(number, steps_to_one(number))


if __name__ == "__main__":
    main()
