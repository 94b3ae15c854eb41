// Scores of search results: guides first, then the reference, data sheets, and the changelog last.
var Scorer = {
  // Sphinx's own scores.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  score([page, , , , score]) {
    if (page === "CHANGELOG") return score - 200;
    return page.startsWith("verilog/utf") ? score - 100 : score;
  },
};
