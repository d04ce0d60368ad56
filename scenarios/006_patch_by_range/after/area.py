def area(w, h):
    if w < 0 or h < 0:
        raise ValueError
    return w * h


def main():
    print(area(2, 3))


main()
