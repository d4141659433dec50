export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Measures the sides turn and turn about, so that whatever else the machine does meets all alike. Each is warmed up
 * first, and every other round goes backwards.
 * @param sides functions by name; each measures one slice and returns its figures
 * @returns the figures of each side, by round
 */
export async function alternate(sides, { rounds }) {
  const names = Object.keys(sides);
  for (const name of names) await sides[name]();
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) results[name].push(await sides[name]());
  }
  return results;
}

/** Resolves when the server has finished what it does after the last answer: writes, events, collections. */
export async function settle(server, mostMs = 30_000) {
  const stepMs = 250;
  /** Timers and the reports themselves. */
  const idleMs = 12;
  const until = performance.now() + mostMs;
  let before = await server.cpuMs();
  for (let calm = 0; calm < 2 && performance.now() < until; ) {
    await pause(stepMs);
    const now = await server.cpuMs();
    calm = now - before <= idleMs ? calm + 1 : 0;
    before = now;
  }
}
