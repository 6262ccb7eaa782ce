"""Make short ASCII identifiers from names, for machines that know no other letters."""


def identifier(name):
    plain = name.lower().replace(" ", "-")
    return plain.encode("ascii").decode("ascii")


def main():
    for name in ["Harbour Street", "Rue Zoë Noir", "Allee 12"]:
        print(identifier(name))


if __name__ == "__main__":
    main()
