import { readChoice, writeChoice } from "./choices.ts";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export function chosenTheme(): Theme {
  const chosen = readChoice("theme");
  return themes.find((theme) => theme === chosen) ?? "system";
}

export function chooseTheme(theme: Theme): void {
  writeChoice("theme", theme);
  applyTheme(theme);
}

export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}
