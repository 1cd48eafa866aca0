set -e
mkdir -p out
for i in 1 2 3; do
    cp a out/$i
done
