/** All guides, with a search in titles and headings at once, and in the whole text when it is loaded. */
import { useQueries } from "@tanstack/react-query";
import { useDeferredValue, useMemo } from "react";
import { Link } from "wouter";
import { useI18n } from "../../i18n/i18n.tsx";
import { useAddressFilter } from "../../shell/address-filter.ts";
import { guideAddress } from "../../shell/navigation.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { SearchInput } from "../../ui/field.tsx";
import { walkLinks } from "../../ui/keyboard.ts";
import { Empty, Panel } from "../../ui/states.tsx";
import { guideGroups, type ListedGuide, listGuides, searchGuides } from "./guide-list.ts";
import { guideFile, guideTextQuery } from "./guides.ts";

/** Shorter searches match nearly every text. */
const shortestTextSearch = 3;

export function GuidesPage() {
  const { t, n, code } = useI18n();
  const [{ q }, change] = useAddressFilter(["q"]);
  const search = useDeferredValue(q.trim());
  const guides = useMemo(() => listGuides(code), [code]);
  const textOf = useTexts(guides, search.length >= shortestTextSearch);
  const found = searchGuides(guides, search, textOf);
  return (
    <>
      <PageHeader
        title={t("guides.title")}
        lead={code === "en" ? t("guides.lead") : `${t("guides.lead")} ${t("guides.english")}`}
      />
      <SearchInput
        className="mb-5 w-full sm:w-96"
        aria-label={t("guides.search")}
        placeholder={t("guides.search")}
        value={q}
        onChange={({ target }) => change({ q: target.value })}
      />
      <p role="status" className="sr-only">
        {search === "" ? "" : n("guides.found", found.length)}
      </p>
      {found.length === 0 && (
        <Empty icon="guides" title={t("guides.none")}>
          <p>{t("guides.noneHint")}</p>
        </Empty>
      )}
      {search === "" ? (
        <div className="gap-5 lg:columns-2">
          {guideGroups.map((group) => (
            <Panel key={group} title={t(`guides.group.${group}`)} className="mb-5 break-inside-avoid">
              <GuideLinks found={found.filter(({ guide }) => guide.group === group)} />
            </Panel>
          ))}
        </div>
      ) : (
        found.length > 0 && (
          <Panel label={t("guides.title")}>
            <GuideLinks found={found} />
          </Panel>
        )
      )}
    </>
  );
}

function GuideLinks({ found }: { readonly found: ReturnType<typeof searchGuides> }) {
  return (
    <ul className="divide-y divide-line" onKeyDown={walkLinks}>
      {found.map(({ guide, headings, excerpt }) => (
        <li key={guide.path} className="px-4 py-2">
          <Link
            href={guideAddress(guide.name)}
            lang={guide.language}
            className="rounded font-medium hover:text-accent-deep hover:underline"
          >
            {guide.title}
          </Link>
          {excerpt !== undefined && (
            <p lang={guide.language} className="truncate text-sm text-soft">
              {excerpt}
            </p>
          )}
          {headings.length > 0 && (
            <ul lang={guide.language} className="mt-0.5 text-sm">
              {headings.map(({ slug, text }) => (
                <li key={slug}>
                  <Link
                    href={`${guideAddress(guide.name)}#${slug}`}
                    className="rounded text-soft hover:text-accent-deep hover:underline"
                  >
                    {text}
                  </Link>
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The texts of the guides, loaded when they are first wanted. The browser keeps them. */
function useTexts(guides: readonly ListedGuide[], wanted: boolean): (guide: ListedGuide) => string {
  const files = guides.flatMap(({ name }) => guideFile(name) ?? []);
  const results = useQueries({
    queries: files.map((file) => ({ ...guideTextQuery(file), enabled: wanted })),
  });
  const texts = new Map(files.map(({ path }, at) => [path, results[at]?.data ?? ""]));
  return ({ path }) => texts.get(path) ?? "";
}
