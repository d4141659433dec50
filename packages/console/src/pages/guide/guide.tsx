/** Shows a guide without internet access. Most guides are in English; the page says so in the other languages. */
import { useQuery } from "@tanstack/react-query";
import { consolePaths } from "@tendon/protocol";
import { useCallback, useEffect, useMemo } from "react";
import { useLocation, useParams } from "wouter";
import { useI18n } from "../../i18n/i18n.tsx";
import { BackLink } from "../../ui/back-link.tsx";
import { useEscape } from "../../ui/keyboard.ts";
import { ProblemNote } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/states.tsx";
import { NotFoundPage } from "../not-found.tsx";
import { GuideText } from "./guide-text.tsx";
import { type GuideFile, guideFile, guideTextQuery } from "./guides.ts";
import { readMarkdown } from "./markdown.ts";

export function GuidePage() {
  const { guide = "" } = useParams<{ guide: string }>();
  const file = guideFile(guide);
  return file === undefined ? <NotFoundPage /> : <Guide key={file.path} name={guide} file={file} />;
}

function Guide({ name, file }: { readonly name: string; readonly file: GuideFile }) {
  const { t, code } = useI18n();
  const { to, label } = homes[name] ?? guides;
  const [, navigate] = useLocation();
  useEscape(useCallback(() => navigate(to), [navigate, to]));
  const { data, error } = useQuery(guideTextQuery(file));
  const blocks = useMemo(() => (data === undefined ? undefined : readMarkdown(data)), [data]);
  useEffect(() => {
    if (blocks === undefined) return;
    document.title = `${document.querySelector("h1")?.textContent ?? name} · Tendon`;
    const named = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (named === null) window.scrollTo(0, 0);
    else named.scrollIntoView();
  }, [blocks, name]);
  return (
    <div className="mx-auto flex max-w-3xl flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2 text-sm text-soft">
        <BackLink to={to}>{t(label)}</BackLink>
        {code !== "en" && file.language === "en" && <span>{t("guide.english")}</span>}
      </div>
      {error !== null && <ProblemNote error={error} />}
      {blocks === undefined && error === null && <SkeletonRows rows={8} />}
      {blocks !== undefined && <GuideText path={file.path} language={file.language} blocks={blocks} />}
    </div>
  );
}

interface Home {
  readonly to: string;
  readonly label: "nav.guides" | "nav.firmware" | "nav.voice";
}

/** The console page that a guide belongs to. From another guide, the browser's back button returns. */
const homes: Readonly<Record<string, Home>> = {
  "firmware-updates": { to: consolePaths.firmware, label: "nav.firmware" },
  voice: { to: consolePaths.voice, label: "nav.voice" },
};
const guides: Home = { to: consolePaths.guides, label: "nav.guides" };
