/* style.h -- the style sheet of pages. */
#ifndef REPORT_STYLE_H
#define REPORT_STYLE_H

/* Parts to be written one after the other, terminated by NULL. */
extern const char *const reln_style[];

#endif
