/** The value below which this share of the sorted numbers lies, interpolated between two neighbours. */
function quantile(sorted, share) {
  const at = (sorted.length - 1) * share;
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
}

export function median(numbers) {
  return quantile(
    numbers.toSorted((a, b) => a - b),
    0.5,
  );
}

/** The measured value nearest to this share, for latencies: a p99 that some request really had. */
export function percentile(numbers, share) {
  const sorted = Float64Array.from(numbers).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The median of the rounds, their ends, and the spread: the middle half of the rounds beside the median. */
export function summarise(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = quantile(sorted, 0.5);
  const width = quantile(sorted, 0.75) - quantile(sorted, 0.25);
  return {
    median: middle,
    low: sorted[0],
    high: sorted.at(-1),
    spread: middle === 0 ? 0 : Math.abs(width / middle),
    rounds: sorted.length,
  };
}
