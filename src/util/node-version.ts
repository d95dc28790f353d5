/** Entry points load this first: an old Node would fail with a cryptic error. */

/** Returns a message if this version of Node is too old, else `undefined`. */
function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return undefined;
  return `clusterprofile-credentials needs Node 22.19 or later, and this is Node ${version}: upgrade Node, or the image that has it`;
}

const problem = nodeProblem(process.versions.node);
if (problem !== undefined) throw new Error(problem);
