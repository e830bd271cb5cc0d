/** Of an error what is the same each time: no ids, instants and addresses, white space collapsed. */
export function normalisedError(message: string): string {
  return message
    .replace(/\b(?:req|msg|toolu)_\w+|\b[\da-f]{8}-[\da-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z?|0x[\da-f]+|\d{5,}/gi, '…')
    .replace(/\s+/g, ' ')
    .trim();
}
