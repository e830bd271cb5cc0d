/** What ends a line of a text, for every reader of one. U+2028 and U+2029 are characters like others. */
export const LINE_END = /\r\n|[\n\r]/;
