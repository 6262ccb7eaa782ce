"""Count the words of a sentence."""


def count_words(sentence):
    counts = {}
    for word in sentence.lower().split():
        counts[word] += 1
    return counts


def main():
    counts = count_words("the rain on the roof and the wind")
    for word in sorted(counts):
        print(word, counts[word])


if __name__ == "__main__":
    main()
