/** Starts the console. Loads the language first, so that no text appears in another one. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { languages, preferredLanguage } from "./i18n/i18n.tsx";
import { readChoice } from "./shell/choices.ts";
import { applyTheme, chosenTheme } from "./shell/theme.ts";
import "./styles.css";

applyTheme(chosenTheme());
const code = preferredLanguage(readChoice("language"), navigator.languages);
const root = document.getElementById("root");
if (root !== null) {
  void languages[code].load().then((catalogue) => {
    createRoot(root).render(
      <StrictMode>
        <App firstLanguage={{ code, catalogue }} />
      </StrictMode>,
    );
  });
}
