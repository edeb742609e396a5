"""All estimators, with small examples; scikit-learn's checks run over them."""

from sklearn.base import BaseEstimator

from .._base.registry import Registry
from ..invariance.transformations import Scaling
from ..kernels import Gaussian, Linear, Multiquadric, NegativeDistance, ThinPlate
from .enclosing_hypersphere import EnclosingHypersphere
from .field_smoother import FieldSmoother
from .implicit_svm import ImplicitSVM
from .kernel_neighbors import KernelNeighbors
from .kernel_pca import KernelPCA
from .kernel_perceptron import KernelPerceptron
from .learned_metric import LearnedMetric
from .series import SeriesClassifier, SeriesRegressor
from .slab import SlabMachine
from .smoother import Smoother
from .svc import SVC
from .svr import SVR
from .tables import TableClassifier, TableRegressor
from .virtual_svc import VirtualSVC

#: the estimators
all_estimators: Registry[BaseEstimator] = Registry("estimator")
all_estimators.register(
    Smoother,
    lambda: [
        Smoother(),
        Smoother(Gaussian(), criterion="reml"),
        Smoother(NegativeDistance(), criterion="loo"),
        Smoother(family="poisson"),
        Smoother(family="gamma", criterion="reml"),
    ],
)
all_estimators.register(FieldSmoother)
all_estimators.register(
    SVC,
    lambda: [
        SVC(),
        SVC(Linear(), loss="hinge", multi_class="ovo"),
        SVC(null_space="constant"),
        SVC(Gaussian(), loss="logistic"),
    ],
)
all_estimators.register(
    SVR,
    lambda: [
        SVR(),
        SVR(Gaussian(), loss="squared_epsilon_insensitive"),
        SVR(Gaussian(), loss="huber", criterion="loo", epsilon=0.5),
    ],
)
all_estimators.register(ImplicitSVM, lambda: [ImplicitSVM(), ImplicitSVM(Gaussian(1.0), alpha=0.1, loss="hinge")])
all_estimators.register(VirtualSVC, lambda: [VirtualSVC(SVC(alpha=0.1), Scaling(0.1))])
all_estimators.register(
    KernelNeighbors,
    lambda: [KernelNeighbors(), KernelNeighbors(Linear(), 3, "distance"), KernelNeighbors("precomputed")],
)
all_estimators.register(
    KernelPCA, lambda: [KernelPCA(), KernelPCA(ThinPlate()), KernelPCA(Linear()), KernelPCA("precomputed")]
)
all_estimators.register(
    KernelPerceptron,
    lambda: [
        KernelPerceptron(),
        KernelPerceptron(Gaussian(), shuffle=True, random_state=0),
        KernelPerceptron(Multiquadric()),
        KernelPerceptron("precomputed", max_iter=50),
    ],
)
all_estimators.register(EnclosingHypersphere, lambda: [EnclosingHypersphere(), EnclosingHypersphere(Linear(), 0.3)])
all_estimators.register(SeriesClassifier)
all_estimators.register(SeriesRegressor)
all_estimators.register(SlabMachine)
all_estimators.register(TableRegressor)
all_estimators.register(TableClassifier)
all_estimators.register(LearnedMetric)
