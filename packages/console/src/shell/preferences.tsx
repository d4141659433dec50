import { useState } from "react";
import { isLanguage, languages, useWords } from "../i18n/i18n.tsx";
import { IconButton } from "../ui/button.tsx";
import { Menu, MenuItem, MenuLabel, MenuLine } from "../ui/menu.tsx";
import { chooseTheme, chosenTheme, type Theme, themes } from "./theme.ts";

const themeIcons = { system: "screen", light: "sun", dark: "moon" } as const;

export function LanguageMenu({ side = "bottom" }: { readonly side?: "top" | "bottom" }) {
  const { t, code, choose } = useWords();
  return (
    <Menu side={side} trigger={<IconButton icon="globe" label={t("shell.language")} />}>
      {Object.entries(languages).map(([each, { name }]) => (
        <MenuItem key={each} checked={each === code} onSelect={() => isLanguage(each) && choose(each)}>
          <span lang={each}>{name}</span>
        </MenuItem>
      ))}
    </Menu>
  );
}

export function ThemeMenu({ side = "bottom" }: { readonly side?: "top" | "bottom" }) {
  const { t } = useWords();
  const [theme, setTheme] = useState(chosenTheme);
  const pick = (next: Theme) => {
    chooseTheme(next);
    setTheme(next);
  };
  return (
    <Menu side={side} trigger={<IconButton icon={themeIcons[theme]} label={t("shell.theme")} />}>
      {themes.map((each) => (
        <MenuItem key={each} icon={themeIcons[each]} checked={each === theme} onSelect={() => pick(each)}>
          {t(`theme.${each}`)}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** The same choices as entries of another menu, where there is no room for menus of their own. */
export function PreferenceItems() {
  const { t, code, choose } = useWords();
  const theme = chosenTheme();
  return (
    <>
      <MenuLabel>{t("shell.language")}</MenuLabel>
      {Object.entries(languages).map(([each, { name }]) => (
        <MenuItem key={each} checked={each === code} onSelect={() => isLanguage(each) && choose(each)}>
          <span lang={each}>{name}</span>
        </MenuItem>
      ))}
      <MenuLabel>{t("shell.theme")}</MenuLabel>
      {themes.map((each) => (
        <MenuItem
          key={each}
          icon={themeIcons[each]}
          checked={each === theme}
          onSelect={() => chooseTheme(each)}
        >
          {t(`theme.${each}`)}
        </MenuItem>
      ))}
      <MenuLine />
    </>
  );
}
