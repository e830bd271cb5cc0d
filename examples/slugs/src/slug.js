/** Turns a title into a URL slug: `Hello, World!` becomes `hello-world`. */
export function slug(title) {
  return title.trim().toLowerCase().replace(/[^a-z0-9]/g, '-');
}
