/** A slug that is not taken yet: the title's own, or the same with a number behind it. */
export function unique(slug, taken) {
  return taken.has(slug) ? `${slug}-1` : slug;
}
