/** A text of one line that is not empty and has no white space at its ends: a signal that stands alone on its line. */
export const ONE_LINE = /^\S(?:[^\n\r\u0085\u2028\u2029]*\S)?$/;
