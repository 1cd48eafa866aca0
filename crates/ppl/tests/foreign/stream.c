#include <stdio.h>

int main(void)
{
    FILE *f = fopen("out.bin", "wb");
    for (int i = 0; i < 100; i++)
        fwrite(buf, 1, 4096, f);
    fread(buf, sizeof(double), 512, f);
    fclose(f);
}
