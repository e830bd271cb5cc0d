/**
 * The environment of a loop's commands: they are no part of the loop (RALPH_ACTIVE=0), and get back the certificates
 * that our hooks' registration takes from node to start faster.
 */
export function gateEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const { RALPH_NODE_EXTRA_CA_CERTS: certificates, ...own } = env;
  const given: Record<string, string | undefined> = { ...own, RALPH_ACTIVE: '0' };
  if (certificates) given['NODE_EXTRA_CA_CERTS'] = certificates;
  else if (given['NODE_EXTRA_CA_CERTS'] === '') delete given['NODE_EXTRA_CA_CERTS'];
  return given;
}
