def area(w, h):
    return w * h


def run():
    print(area(4, 5))


main()
