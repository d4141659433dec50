/** Downloads a whole list as CSV or JSON lines, with the filters of the page. */
import { useMutation } from "@tanstack/react-query";
import { apiFile } from "../api/client.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "./button.tsx";
import { ProblemNote } from "./problem.tsx";

const formats = [
  { type: "text/csv", ending: "csv", label: "export.csv" },
  { type: "application/x-ndjson", ending: "ndjson", label: "export.lines" },
] as const;

/** `path` is the list's path below /api/v1 with its filters; `name` the file's name without its ending. */
export function ExportButtons({ path, name }: { readonly path: string; readonly name: string }) {
  const { t } = useI18n();
  const download = useMutation({
    mutationFn: async ({ type, ending }: (typeof formats)[number]) =>
      save(await apiFile(path, type), `${name}.${ending}`),
  });
  return (
    <>
      {formats.map((format) => (
        <Button
          key={format.type}
          icon="download"
          disabled={download.isPending}
          onClick={() => download.mutate(format)}
        >
          {t(format.label)}
        </Button>
      ))}
      {download.isError && <ProblemNote error={download.error} />}
    </>
  );
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the file over by the next task.
  setTimeout(() => URL.revokeObjectURL(url));
}
