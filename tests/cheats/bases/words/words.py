def count_words(text):
    """How often each word occurs, whatever its case."""
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def most_common(text):
    counts = count_words(text)
    return max(counts, key=counts.get)
