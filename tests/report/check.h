/* check.h -- a small checker of pages: tags must balance, and only allowed characters may occur. */
#ifndef TESTS_REPORT_CHECK_H
#define TESTS_REPORT_CHECK_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct Checker {
    const char *s; /* the rest of the text */
    int depth;
    char open[64][16];
    char wrong[128]; /* description of the first error; "": none */
} Checker;

static inline bool complain(Checker *c, const char *what)
{
    if (!c->wrong[0])
        snprintf(c->wrong, sizeof c->wrong, "%s at \"%.60s\"", what, c->s);
    return false;
}

/* &lt; &#39; and nothing else that begins with & */
static inline bool read_entity(Checker *c)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(c->s, known[i], strlen(known[i])) == 0) {
            c->s += strlen(known[i]);
            return true;
        }
    }
    return complain(c, "not an entity");
}

static inline bool read_name(Checker *c, char name[16])
{
    size_t n = 0;

    while (isalnum((unsigned char)c->s[n]) || c->s[n] == '-')
        n++;
    if (n == 0 || n > 15)
        return complain(c, "not a name");
    memcpy(name, c->s, n);
    name[n] = '\0';
    c->s += n;
    return true;
}

/* name="value", any number of them */
static inline bool read_attributes(Checker *c)
{
    char name[16];

    while (*c->s == ' ') {
        c->s++;
        if (!read_name(c, name))
            return false;
        if (strncmp(c->s, "=\"", 2) != 0)
            return complain(c, "an attribute without a value");
        for (c->s += 2; *c->s != '"';) {
            if (*c->s == '<' || *c->s == '\0')
                return complain(c, "a value that does not end");
            if (*c->s == '&') {
                if (!read_entity(c))
                    return false;
            } else {
                c->s++;
            }
        }
        c->s++;
    }
    return true;
}

static inline bool read_close(Checker *c)
{
    char name[16];

    c->s += 2;
    if (!read_name(c, name))
        return false;
    if (c->depth == 0 || strcmp(c->open[c->depth - 1], name) != 0)
        return complain(c, "closes what is not open");
    c->depth--;
    return *c->s++ == '>' || complain(c, "a tag that does not end");
}

static inline bool read_tag(Checker *c)
{
    char name[16];

    if (strncmp(c->s, "</", 2) == 0)
        return read_close(c);
    c->s++;
    if (!read_name(c, name) || !read_attributes(c))
        return false;
    if (strncmp(c->s, "/>", 2) == 0) {
        c->s += 2;
        return true;
    }
    if (*c->s != '>' || c->depth == 64)
        return complain(c, "a tag that does not end");
    c->s++;
    strcpy(c->open[c->depth++], name);
    return true;
}

/* Returns NULL if every tag is closed in its order, every & begins an entity and no number is nan or inf;
 * otherwise a description of the error. The style sheet is skipped. */
static inline const char *what_is_wrong(const char *html, Checker *c)
{
    static const char doctype[] = "<!DOCTYPE html>\n";

    memset(c, 0, sizeof *c);
    c->s = html;
    if (strncmp(html, doctype, strlen(doctype)) == 0)
        c->s += strlen(doctype);
    while (*c->s && !c->wrong[0]) {
        const bool style = c->depth > 0 && strcmp(c->open[c->depth - 1], "style") == 0;

        if (*c->s == '<' && (!style || c->s[1] == '/'))
            read_tag(c);
        else if (*c->s == '&' && !style)
            read_entity(c);
        else if (((unsigned char)*c->s < 0x20 && *c->s != '\n' && *c->s != '\t') || *c->s == 0x7F)
            complain(c, "a control character");
        else
            c->s++;
    }
    if (!c->wrong[0] && c->depth > 0)
        snprintf(c->wrong, sizeof c->wrong, "<%s> is not closed", c->open[c->depth - 1]);
    return c->wrong[0] ? c->wrong : NULL;
}

#endif
