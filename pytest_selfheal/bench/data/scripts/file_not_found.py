"""Sum the column of amounts in the ledger that lies beside this script."""


def read_amounts(path):
    with open(path, encoding="utf-8") as ledger:
        next(ledger)
        return [int(line.split(",")[1]) for line in ledger]


def main():
    amounts = read_amounts("file_not_found.txt")
    print("entries:", len(amounts))
    print("total:", sum(amounts))


if __name__ == "__main__":
    main()
