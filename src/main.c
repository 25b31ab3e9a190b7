/* main.c - the entry point. */
#include <stdio.h>

int main(void)
{
    puts("chinwag " CHINWAG_VERSION);
    return 0;
}
