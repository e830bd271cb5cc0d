import { withoutGitExcludes } from './without-git-excludes.ts';

/**
 * Returns the environment of checks: outside the loop (RALPH_ACTIVE=0), with the certificates that the hooks' registration
 * withholds from node, and without settings that only an agent's git ignores.
 */
export function gateEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const { RALPH_NODE_EXTRA_CA_CERTS: certificates, ...own } = withoutGitExcludes(env);
  const given: Record<string, string | undefined> = { ...own, RALPH_ACTIVE: '0' };
  if (certificates) given['NODE_EXTRA_CA_CERTS'] = certificates;
  else if (given['NODE_EXTRA_CA_CERTS'] === '') delete given['NODE_EXTRA_CA_CERTS'];
  return given;
}
