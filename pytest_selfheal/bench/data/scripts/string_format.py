"""Print a price list in columns."""


def row(name, price):
    return "{:<10}{:>8.2f}".format(name)


def main():
    for name, price in [("apples", 2.5), ("walnuts", 11.25), ("flour", 0.9)]:
        print(row(name, price))


if __name__ == "__main__":
    main()
