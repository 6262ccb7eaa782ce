"""Average rating of each dish; a dish without ratings has 0."""


def average(ratings):
    return sum(ratings) / len(ratings)


def main():
    dishes = {"soup": [4, 5, 3], "stew": [], "cake": [5]}
    for dish, ratings in dishes.items():
        print(f"{dish}: {average(ratings):.1f}")


if __name__ == "__main__":
    main()
