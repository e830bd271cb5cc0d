/** Imported by a test that starts processes only through the code under test: `npm run test:fast` leaves it out. */
export {};
