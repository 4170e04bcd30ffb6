// Before anything is drawn: the colours that were chosen.
document.documentElement.dataset.theme = localStorage.getItem("gesso.theme") ?? "";
