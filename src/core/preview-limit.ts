/** Characters of a command's output that its record keeps; the prompt has more. */
export const PREVIEW_LIMIT = 500;
