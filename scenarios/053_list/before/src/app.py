import os

def greet(name):
    print("Hello, " + name)
