/* reln_h5.c -- the program reln-h5: datasets of an HDF5 file as .npy, for a parent that does not trust the format.
 *
 *     reln-h5 list FILE             [["/group/X", "f4", [100, 3, 3]], ...] as JSON: datasets of numbers
 *     reln-h5 cat FILE DATASET      that dataset as .npy on stdout
 *
 * Fields of a compound, such as tables of pandas, count as datasets: "/group/table/field".
 *
 * Before a file is opened, the process limits itself to 2 GiB of memory and ten minutes, and gives up every right to
 * write files other than its own output. Links to other files, external storage and virtual datasets are not
 * followed: all data come from the named file. Exit 0, or 1 with one line on stderr.
 */
#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_RANK = 8, MAX_DEPTH = 16, MAX_DATASETS = 4096, CHUNK = 1 << 20 };

static int fail(const char *what, const char *name)
{
    fprintf(stderr, "%s%s%s\n", what, name ? ": " : "", name ? name : "");
    return 1;
}

static void limit(int what, rlim_t most)
{
    struct rlimit now;

    if (getrlimit(what, &now) == 0 && (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > most)) {
        now.rlim_cur = now.rlim_max = most;
        setrlimit(what, &now);
    }
}

/* ---- kinds of numbers ------------------------------------------------------------------------------------------- */

/* Finds NumPy's name of a dataset's type, and the same type in little-endian order; false for strings,
 * structures ... */
static bool kind_of(hid_t type, char code[3], hid_t *file_order)
{
    static const struct {
        const char *code;
        H5T_class_t class;
        size_t width;
        bool is_signed;
    } kinds[] = {
        {"f4", H5T_FLOAT, 4, true},    {"f8", H5T_FLOAT, 8, true},    {"f2", H5T_FLOAT, 2, true},
        {"i1", H5T_INTEGER, 1, true},  {"u1", H5T_INTEGER, 1, false}, {"i2", H5T_INTEGER, 2, true},
        {"u2", H5T_INTEGER, 2, false}, {"i4", H5T_INTEGER, 4, true},  {"u4", H5T_INTEGER, 4, false},
        {"i8", H5T_INTEGER, 8, true},  {"u8", H5T_INTEGER, 8, false}};
    const hid_t orders[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_STD_I8LE,
                            H5T_STD_U8LE,   H5T_STD_I16LE,  H5T_STD_U16LE,  H5T_STD_I32LE,
                            H5T_STD_U32LE,  H5T_STD_I64LE,  H5T_STD_U64LE};
    const H5T_class_t class = H5Tget_class(type);

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (class == kinds[i].class && H5Tget_size(type) == kinds[i].width &&
            (class == H5T_FLOAT || (H5Tget_sign(type) == H5T_SGN_2) == kinds[i].is_signed)) {
            /* half precision is converted to single without loss, by HDF5 */
            memcpy(code, kinds[i].width == 2 && class == H5T_FLOAT ? "f4" : kinds[i].code, 3);
            *file_order = orders[i];
            return true;
        }
    return false;
}

/* h5py writes booleans as an enumeration of FALSE and TRUE over one byte. */
static bool is_boolean(hid_t type)
{
    char *first, *second;
    bool is;

    if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2)
        return false;
    first = H5Tget_member_name(type, 0);
    second = H5Tget_member_name(type, 1);
    is = first && second && strcmp(first, "FALSE") == 0 && strcmp(second, "TRUE") == 0;
    H5free_memory(first);
    H5free_memory(second);
    return is;
}

/* ---- datasets --------------------------------------------------------------------------------------------------- */

typedef struct Dataset {
    hid_t id, type, space;
    char code[3];
    hid_t file_order; /* type to read as; not closed here */
    hid_t field;      /* for a compound: a compound of one field, to read as; -1: the whole type is read */
    int rank;         /* rank of the numbers: axes of the dataset, then those within a field */
    int outer;        /* axes of the dataset */
    hsize_t dims[MAX_RANK];
    size_t width;
    const char *why; /* the reason why it cannot be read; NULL when it can */
} Dataset;

static void close_dataset(const Dataset *d)
{
    if (d->field >= 0)
        H5Tclose(d->field);
    if (d->space >= 0)
        H5Sclose(d->space);
    if (d->type >= 0)
        H5Tclose(d->type);
    if (d->id >= 0)
        H5Dclose(d->id);
}

/* Returns whether the bytes of the dataset are in this file; false for external storage and for views of
 * other datasets. */
static bool is_stored_here(hid_t dataset)
{
    const hid_t plan = H5Dget_create_plist(dataset);
    const bool here = plan >= 0 && H5Pget_external_count(plan) == 0 &&
                      H5Pget_layout(plan) != H5D_VIRTUAL && H5Pget_layout(plan) != H5D_LAYOUT_ERROR;

    if (plan >= 0)
        H5Pclose(plan);
    return here;
}

/* Returns the number of the first filter of a dataset that this HDF5 does not have; 0: there is none. */
static int missing_filter(hid_t dataset)
{
    const hid_t plan = H5Dget_create_plist(dataset);
    const int n = plan >= 0 ? H5Pget_nfilters(plan) : 0;
    int missing = 0;

    for (int i = 0; i < n && missing == 0; i++) {
        unsigned flags = 0, config = 0;
        size_t n_values = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(plan, (unsigned)i, &flags, &n_values, NULL, 0, NULL, &config);

        if (id >= 0 && H5Zfilter_avail(id) <= 0)
            missing = (int)id;
    }
    if (plan >= 0)
        H5Pclose(plan);
    return missing;
}

/* Returns the name of an unsupported type, for the message. */
static const char *type_text(hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_ENUM:
        return "an enumeration";
    case H5T_STRING:
        return "text";
    case H5T_COMPOUND:
        return "a compound of fields";
    case H5T_BITFIELD:
        return "a bit field";
    case H5T_OPAQUE:
        return "opaque bytes";
    case H5T_REFERENCE:
        return "references";
    case H5T_VLEN:
        return "lists of different length";
    case H5T_ARRAY:
        return "an array in each place";
    case H5T_INTEGER:
    case H5T_FLOAT:
        return "of numbers of an unusual width";
    default:
        return "of an unknown type";
    }
}

static herr_t refuse_link(const char *parent, const char *group, const char *file,
                          const char *object, unsigned *flags, hid_t access, void *self)
{
    (void)parent, (void)group, (void)file, (void)object, (void)flags, (void)access, (void)self;
    return -1;
}

/* Makes a list of access properties with which no link leads to another file. */
static hid_t stay_inside(hid_t class)
{
    const hid_t access = H5Pcreate(class);

    if (access >= 0 && H5Pset_elink_cb(access, refuse_link, NULL) < 0) {
        H5Pclose(access);
        return -1;
    }
    return access;
}

static hid_t open_inside(hid_t group, const char *name)
{
    const hid_t access = stay_inside(H5P_DATASET_ACCESS);
    const hid_t dataset = access >= 0 ? H5Dopen2(group, name, access) : -1;

    if (access >= 0)
        H5Pclose(access);
    return dataset;
}

static const char *shape_fault(const Dataset *d)
{
    if (d->type < 0 || d->space < 0 || d->rank < 0)
        return "damaged";
    if (H5Sget_simple_extent_type(d->space) == H5S_NULL)
        return "without a shape";
    return d->rank > MAX_RANK ? "of more than 8 axes" : NULL;
}

/* Opens a dataset, and reads its type and axes. Returns false, with the reason in `why`, when that fails. */
static bool open_axes(hid_t group, const char *name, Dataset *d)
{
    static char filter[64];
    int missing;

    *d = (Dataset){.id = open_inside(group, name), .type = -1, .space = -1, .field = -1};
    if (d->id < 0)
        d->why = "damaged";
    else if (!is_stored_here(d->id))
        d->why = "kept outside of the file, or a view of others";
    if (d->why)
        return false;
    if ((missing = missing_filter(d->id)) != 0) {
        snprintf(filter, sizeof filter, "compressed by filter %d, which is not here", missing);
        d->why = filter;
        return false;
    }
    d->type = H5Dget_type(d->id);
    d->space = H5Dget_space(d->id);
    d->rank = d->outer = d->space >= 0 ? H5Sget_simple_extent_ndims(d->space) : -1;
    d->why = shape_fault(d);
    if (!d->why && H5Sget_simple_extent_dims(d->space, d->dims, NULL) < 0)
        d->why = "damaged";
    return d->why == NULL;
}

/* Opens a dataset. Returns false, with the reason in `why`, when a .npy file cannot hold it. */
static bool open_dataset(hid_t group, const char *name, Dataset *d)
{
    if (!open_axes(group, name, d))
        return false;
    if (is_boolean(d->type)) {
        memcpy(d->code, "b1", 3);
        d->file_order = d->type;
    } else if (!kind_of(d->type, d->code, &d->file_order)) {
        d->why = type_text(d->type);
        return false;
    }
    d->width = (size_t)(d->code[1] - '0');
    return true;
}

/* ---- fields of compounds ----------------------------------------------------------------------------------------- */

/* Adds the axes of an array type to those of the dataset. */
static bool add_axes(Dataset *d, hid_t array)
{
    const int n = H5Tget_array_ndims(array);

    if (n < 1 || d->outer + n > MAX_RANK || H5Tget_array_dims2(array, d->dims + d->outer) < 0)
        return false;
    d->rank = d->outer + n;
    return true;
}

/* Makes the type to read one field as: the field alone, of numbers in file order. */
static hid_t alone(const char *name, hid_t numbers, const Dataset *d)
{
    const bool is_array = d->rank > d->outer;
    const hid_t inner =
        is_array ? H5Tarray_create2(numbers, (unsigned)(d->rank - d->outer), d->dims + d->outer)
                 : numbers;
    hid_t field = inner >= 0 ? H5Tcreate(H5T_COMPOUND, H5Tget_size(inner)) : -1;

    if (field >= 0 && H5Tinsert(field, name, 0, inner) < 0) {
        H5Tclose(field);
        field = -1;
    }
    if (is_array && inner >= 0)
        H5Tclose(inner);
    return field;
}

/* Turns an open compound into the dataset of its field: numbers, or arrays of numbers. Returns false for any
 * other field. */
static bool choose_field(Dataset *d, unsigned member)
{
    char *name = H5Tget_member_name(d->type, member);
    const hid_t type = H5Tget_member_type(d->type, member);
    const bool is_array = type >= 0 && H5Tget_class(type) == H5T_ARRAY;
    const hid_t numbers = is_array ? H5Tget_super(type) : type;
    bool chosen = name && numbers >= 0 && kind_of(numbers, d->code, &d->file_order) &&
                  (!is_array || add_axes(d, type));

    if (chosen) {
        d->width = (size_t)(d->code[1] - '0');
        d->field = alone(name, d->file_order, d);
        chosen = d->field >= 0;
    }
    if (is_array && numbers >= 0)
        H5Tclose(numbers);
    if (type >= 0)
        H5Tclose(type);
    H5free_memory(name);
    d->why = chosen ? NULL : "a field of no numbers";
    return chosen;
}

/* Opens "DATASET/FIELD". */
static bool open_field(hid_t file, const char *path, Dataset *d)
{
    const char *slash = strrchr(path, '/');
    char outer[4096];
    int member;

    *d = (Dataset){.id = -1, .type = -1, .space = -1, .field = -1, .why = "not there"};
    if (!slash || (size_t)(slash - path) >= sizeof outer)
        return false;
    snprintf(outer, sizeof outer, "%.*s", (int)(slash - path), path);
    if (!open_axes(file, outer, d) || H5Tget_class(d->type) != H5T_COMPOUND)
        return false;
    member = H5Tget_member_index(d->type, slash + 1);
    return member >= 0 && choose_field(d, (unsigned)member);
}

/* ---- list ------------------------------------------------------------------------------------------------------- */

/* A Walk is the path of the groups that have been entered. */
typedef struct Walk {
    char path[4096];
    int depth, count;
} Walk;

static void print_quoted(const char *text)
{
    putchar('"');
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            printf("\\u%04x", (unsigned)(unsigned char)*text);
        else
            putchar(*text);
    putchar('"');
}

static void print_dataset(Walk *w, const Dataset *d)
{
    printf("%s[", w->count++ > 0 ? ",\n" : "");
    print_quoted(w->path);
    printf(", \"%s\", [", d->code);
    for (int i = 0; i < d->rank; i++)
        printf("%s%llu", i > 0 ? ", " : "", (unsigned long long)d->dims[i]);
    printf("]]");
}

/* Lists a dataset that cannot be read, with the reason in place of the shape. */
static void print_unread(Walk *w, const Dataset *d)
{
    printf("%s[", w->count++ > 0 ? ",\n" : "");
    print_quoted(w->path);
    printf(", \"\", \"%s\"]", d->why);
}

/* Lists the fields of a compound, under its name. */
static void list_fields(Walk *w, hid_t group, const char *name, int n)
{
    const size_t length = strlen(w->path);

    for (int i = 0; i < n && w->count < MAX_DATASETS; i++) {
        Dataset d;
        char *field = NULL;

        if (open_axes(group, name, &d) && (field = H5Tget_member_name(d.type, (unsigned)i)) &&
            length + strlen(field) + 2 <= sizeof w->path) {
            snprintf(w->path + length, sizeof w->path - length, "/%s", field);
            if (choose_field(&d, (unsigned)i))
                print_dataset(w, &d);
            else
                print_unread(w, &d);
            w->path[length] = '\0';
        }
        H5free_memory(field);
        close_dataset(&d);
    }
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *link, void *self);

static void enter(hid_t group, const char *name, Walk *w)
{
    const hid_t inner = H5Gopen2(group, name, H5P_DEFAULT);

    if (inner < 0)
        return;
    if (w->depth < MAX_DEPTH) {
        w->depth++;
        H5Literate(inner, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, w);
        w->depth--;
    }
    H5Gclose(inner);
}

/* Follows a link within this file; returns false when it leads nowhere or to another file. */
static bool target_of(hid_t group, const char *name, H5O_info_t *info)
{
    const hid_t access = stay_inside(H5P_LINK_ACCESS);
    const bool found = access >= 0 && H5Oget_info_by_name(group, name, info, access) >= 0;

    if (access >= 0)
        H5Pclose(access);
    return found;
}

/* Visits datasets behind hard and soft links, and groups behind hard links only: soft links to groups could
 * form cycles. A limit on the depth stops a group that contains itself, a limit on the number of datasets
 * stops the whole walk. */
static herr_t visit(hid_t group, const char *name, const H5L_info_t *link, void *self)
{
    Walk *const w = self;
    const size_t length = strlen(w->path);
    H5O_info_t info;
    Dataset d;

    if ((link->type != H5L_TYPE_HARD && link->type != H5L_TYPE_SOFT) || w->count >= MAX_DATASETS ||
        length + strlen(name) + 2 > sizeof w->path || !target_of(group, name, &info))
        return 0;
    snprintf(w->path + length, sizeof w->path - length, "/%s", name);
    if (info.type == H5O_TYPE_GROUP && link->type == H5L_TYPE_HARD)
        enter(group, name, w);
    if (info.type == H5O_TYPE_DATASET) {
        int fields = 0;

        if (open_dataset(group, name, &d))
            print_dataset(w, &d);
        else {
            print_unread(w, &d);
            if (d.type >= 0 && H5Tget_class(d.type) == H5T_COMPOUND)
                fields = H5Tget_nmembers(d.type);
        }
        close_dataset(&d);
        list_fields(w, group, name, fields);
    }
    w->path[length] = '\0';
    return 0;
}

static int list(hid_t file)
{
    Walk w = {.path = ""};

    printf("[");
    if (H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, &w) < 0)
        return fail("damaged HDF5: its groups cannot be read", NULL);
    printf("]\n");
    return fflush(stdout) == 0 ? 0 : fail("cannot write", NULL);
}

/* ---- cat -------------------------------------------------------------------------------------------------------- */

static void print_header(const Dataset *d)
{
    char text[512];
    int n = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                     d->width == 1 ? '|' : '<', d->code);
    size_t all;

    for (int i = 0; i < d->rank; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%llu, ", (unsigned long long)d->dims[i]);
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    all = (10 + (size_t)n + 1 + 63) / 64 * 64;
    (void)fwrite("\x93NUMPY\1", 1, 8, stdout);
    putchar((int)((all - 10) & 255));
    putchar((int)((all - 10) >> 8));
    printf("%s%*s\n", text, (int)(all - 11 - (size_t)n), "");
}

/* Reads rows first .. first+n-1 of the leading axis, with all of the other axes. */
static bool read_rows(const Dataset *d, hsize_t first, hsize_t n, void *to)
{
    hsize_t start[MAX_RANK] = {first}, count[MAX_RANK];
    hid_t memory;
    bool read;

    memcpy(count, d->dims, sizeof count);
    count[0] = n;
    memory = H5Screate_simple(d->outer, count, NULL);
    read = memory >= 0 &&
           H5Sselect_hyperslab(d->space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
           H5Dread(d->id, d->field >= 0 ? d->field : d->file_order, memory, d->space, H5P_DEFAULT,
                   to) >= 0;
    if (memory >= 0)
        H5Sclose(memory);
    return read;
}

/* Reads as many rows at a time as fit the buffer, at least one. A single number counts as one row. */
static int print_rows(const Dataset *d)
{
    const hsize_t n_rows = d->outer > 0 ? d->dims[0] : 1;
    const hid_t type = d->field >= 0 ? d->field : d->file_order;
    const int inner = d->outer > 0 ? 1 : 0; /* the first axis of a row */
    size_t row = d->width, some;
    unsigned char *buffer;
    int failed = 0;

    for (int i = inner; i < d->rank; i++)
        if (__builtin_mul_overflow(row, (size_t)d->dims[i], &row) || row > (size_t)1 << 30)
            return fail("a row of the dataset has more than 1 GiB", NULL);
    if (row == 0 || n_rows == 0)
        return 0;
    some = row < CHUNK ? CHUNK / row : 1;
    buffer = malloc(some * row);
    if (!buffer)
        return fail("out of memory", NULL);
    for (hsize_t first = 0, n; first < n_rows && !failed; first += n) {
        n = n_rows - first < some ? n_rows - first : some;
        if (d->outer == 0 ? H5Dread(d->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer) < 0
                          : !read_rows(d, first, n, buffer))
            failed = fail("damaged HDF5: the dataset cannot be read", NULL);
        else if (fwrite(buffer, row, (size_t)n, stdout) != n)
            failed = fail("cannot write", NULL);
    }
    free(buffer);
    return failed;
}

static int cat(hid_t file, const char *name)
{
    bool opened;
    Dataset d;
    int failed;

    opened = open_dataset(file, name, &d);
    if (!opened) {
        close_dataset(&d);
        opened = open_field(file, name, &d);
    }
    if (opened) {
        print_header(&d);
        failed = print_rows(&d);
    } else
        failed = fail("no dataset of numbers", name);
    close_dataset(&d);
    if (!failed && fflush(stdout) != 0)
        failed = fail("cannot write", NULL);
    return failed;
}

int main(int argc, char **argv)
{
    const bool lists = argc == 3 && strcmp(argv[1], "list") == 0;
    const bool cats = argc == 4 && strcmp(argv[1], "cat") == 0;
    struct stat output;
    hid_t file;
    int failed;

    if (!lists && !cats)
        return fail("usage: reln-h5 list FILE | reln-h5 cat FILE DATASET", NULL);
#ifndef RELN_NO_ADDRESS_LIMIT
    limit(RLIMIT_AS, (rlim_t)2 << 30);
#endif
    limit(RLIMIT_CPU, 600);
    if (fstat(STDOUT_FILENO, &output) != 0 || !S_ISREG(output.st_mode))
        limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
    H5Eset_auto2(H5E_DEFAULT, NULL,
                 NULL); /* no error stack of HDF5 on stderr: main() prints one line */
    file = H5Fopen(argv[2], H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return fail("damaged HDF5: it cannot be opened", NULL);
    failed = lists ? list(file) : cat(file, argv[3]);
    H5Fclose(file);
    return failed;
}
