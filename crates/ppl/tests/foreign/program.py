import os

def main():
    os.makedirs("out", exist_ok=True)
    with open("out/data.bin", "wb") as f:
        for i in range(16):
            f.write(os.urandom(4096))
        os.fsync(f.fileno())
    with open("out/data.bin", "rb") as f:
        f.read(1024)
    os.remove("out/data.bin")

if __name__ == "__main__":
    main()
