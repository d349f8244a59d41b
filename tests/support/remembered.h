/* remembered.h -- compares a text with the one that the tree remembers.
 *
 * Layouts, tables of settings and pages have no formula that a test could check them against: each place and each
 * digit is a choice. The text of tests/golden/remembered/NAME holds these choices, so that none changes unseen. */
#ifndef TESTS_REMEMBERED_H
#define TESTS_REMEMBERED_H

/* Fails the test unless the text is the remembered one, in the sense of alike.h.
 *
 * After an intended change, run the test with RELN_REMEMBER=1, which writes the file and fails; then look at the
 * difference before committing it. */
void assert_remembered(const char *name, const char *text);

#endif
