"""Sum up a day of deliveries."""


def report(parcels):
    total = sum(parcels)
    return "parcels: " + total


def main():
    print(report([12, 7, 30]))
    print(report([]))


if __name__ == "__main__":
    main()
