def pairs_up(items):
    for index in range(0, len(items), 2):
        yield items[index : index + 1]
