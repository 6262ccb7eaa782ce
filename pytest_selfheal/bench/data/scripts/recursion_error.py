"""How deep is a nest of lists?"""


def depth(nest):
    if not isinstance(nest, list):
        return 0
    return 1 + max((depth(nest) for part in nest), default=0)


def main():
    print(depth([]))
    print(depth([1, [2, 3]]))
    print(depth([[[4]], 5, [[6, [7]]]]))


if __name__ == "__main__":
    main()
