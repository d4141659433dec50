import { useCallback, useState } from "react";
import { readChoice, writeChoice } from "../../shell/choices.ts";

export type Density = "comfortable" | "compact";

/** The height of the rows, as chosen in this browser. */
export function useDensity() {
  const [density, setDensity] = useState<Density>(() =>
    readChoice("density") === "compact" ? "compact" : "comfortable",
  );
  const choose = useCallback((next: Density) => {
    writeChoice("density", next);
    setDensity(next);
  }, []);
  return [density, choose] as const;
}
