import { useState } from "react";
import { isLanguage, languages, useI18n } from "../i18n/i18n.tsx";
import { IconButton } from "../ui/button.tsx";
import { Menu, MenuItem, MenuLabel, MenuLine } from "../ui/menu.tsx";
import { chooseTheme, chosenTheme, type Theme, themes } from "./theme.ts";

const themeIcons = { system: "screen", light: "sun", dark: "moon" } as const;

export function LanguageMenu({ side = "bottom" }: { readonly side?: "top" | "bottom" }) {
  const { t, code, choose } = useI18n();
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
  const { t } = useI18n();
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

/** Language and appearance as entries of another menu, for narrow screens. */
export function PreferenceItems() {
  const { t, code, choose } = useI18n();
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
