/** `$0.12`; below a cent as exact as the client says it: `$0.0008`. */
export function dollarText(amount: number): string {
  return `$${amount.toFixed(amount > 0 && amount < 0.01 ? 4 : 2)}`;
}
