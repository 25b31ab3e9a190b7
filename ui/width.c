/*
 * width.c - the width of characters newer than the C library.
 *
 * ncurses lays out its cells with wcwidth, and this program wraps with it (text.h), so both must see the same numbers.
 * Emoji that came after the C library's tables have no width there (-1) and could only be drawn as U+FFFD. Terminals
 * are updated more often, and draw them two columns wide. This definition takes the place of the library's for ncurses
 * too, because the dynamic linker looks into the program first.
 */
#include <unictype.h>
#include <wchar.h>

/* Unicode reserves Extended_Pictographic for emoji to come, and gives these blocks East Asian Width W: 1F300-1F64F,
 * 1F680-1F6FF, 1F900-1F9FF, 1FA70-1FAFF (emoji-data.txt, EastAsianWidth.txt). */
static int is_coming_emoji(wchar_t c)
{
    if (c < 0x1f300 || c > 0x1faff || (c > 0x1f6ff && c < 0x1f900) || (c > 0x1f9ff && c < 0x1fa70))
        return 0;
    return uc_is_property_extended_pictographic((ucs4_t)c);
}

int wcwidth(wchar_t c)
{
    wchar_t s[2] = {c, 0};
    int width = c ? wcswidth(s, 1) : 0; /* the library's own number */
    return width < 0 && is_coming_emoji(c) ? 2 : width;
}
