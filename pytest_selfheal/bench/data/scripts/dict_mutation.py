"""Drop the items of a stock list that have run out."""


def drop_empty(stock):
    for name in stock:
        if stock[name] == 0:
            del stock[name]
    return stock


def main():
    stock = {"bolts": 40, "nuts": 0, "washers": 12, "hinges": 0}
    for name, count in drop_empty(stock).items():
        print(name, count)


if __name__ == "__main__":
    main()
