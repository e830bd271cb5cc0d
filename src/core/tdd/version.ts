/** Of the state in the project and of the record outside it. A file with a higher one is left as it is. */
export const TDD_VERSION = 1;
